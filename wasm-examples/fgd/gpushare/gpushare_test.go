package gpushare

import "testing"

// TestTexts: invalid numbers and GPUs are skipped.
func TestTexts(t *testing.T) {
	for text, want := range map[string]int32{"0": 0, "8": 8, "0810": 810, "": -1, "-1": -1, "1.5": -1, "1x": -1, "999999": 999999, "9999999": -1, "99999999999": -1} {
		if got := number(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]uint32{"0": 1, "0,1": 3, "1,0,1": 3, "15": 1 << 15, "16": 0, "": 0, ",": 0, "x,2": 4, "2,": 4, "-1": 0} {
		if got := set(text); got != want {
			t.Errorf("%q is %b, want %b", text, got, want)
		}
	}
}

// TestFits: a share needs one GPU with enough left; whole GPUs must be free.
func TestFits(t *testing.T) {
	n := Node{N: 3, Free: [Most]int16{400, 1000, 700}}
	for d, want := range map[Demand]bool{
		{}: true, {GPUs: 1, Milli: 700}: true, {GPUs: 1, Milli: 1000}: true, {GPUs: 2, Milli: 1000}: false, {GPUs: 4, Milli: 100}: false,
	} {
		if n.Fits(d) != want {
			t.Errorf("%+v fits: %v, want %v", d, !want, want)
		}
	}
	if n.GPU() != 2100 {
		t.Errorf("%d are left, want 2100", n.GPU())
	}
	if !n.takeMost() || n.Free != [Most]int16{400, 0, 700} {
		t.Errorf("without the one with most left there are %v", n.Free)
	}
}
