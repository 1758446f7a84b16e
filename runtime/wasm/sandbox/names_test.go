package sandbox

import "testing"

// TestFrames: names are as the author wrote them, and numbers are the module's own.
func TestFrames(t *testing.T) {
	for before, after := range map[string]string{
		"\t.$2270(i32) i32":                                                                           "function 2269",
		"\t.berth.meter.refill() i32":                                                                 "",
		"\tguest.berth.meter.refill() i32":                                                            "",
		"\t.example.com_bgo.__Plugin_.Filter(i32,i64)":                                                "example.com_bgo.(*Plugin).Filter",
		"\tguest.rack::Maintenance::filter(i32,f64,v128) (i32,i32)":                                   "rack::Maintenance::filter",
		"\t._ZN4core9panicking28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE(i32)":                "core::panicking::{{closure}}",
		"\t._ZN51_$LT$rack..Maintenance$u20$as$u20$berth..Filter$GT$6filter17h0123456789abcdefE(i32)": "<rack::Maintenance as berth::Filter>::filter",
		"\t._RNvXCs4fqI2P2rA04_5brustNtB2_11MaintenanceNtNt5berth6plugin6Filter6filter(i32)":          "brust::Maintenance::berth::plugin::Filter::filter",
		"\t._ZN99short(i32)":                                                                          "",
		"\t.a(b)(i32)":                                                                                "a(b)",
		"\t\t/src/main.c:3:1":                                                                         "/src/main.c:3:1",
		"... maybe followed by omitted frames":                                                        "... maybe followed by omitted frames",
	} {
		if got := frames(before, 1); got != after {
			t.Errorf("%q: got %q, want %q", before, got, after)
		}
	}
}
