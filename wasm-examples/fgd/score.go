package fgd

// logit returns the natural logarithms of k/(100−k) for k from 51 to 99: where the sigmoid
// function is k/100. A table gives the same scores on every machine; exp and log of different
// libraries differ in the last bits.
func logit() [49]float64 {
	return [49]float64{
		0.040005334613699164, 0.08004270767353643, 0.12014431184206324, 0.1603426500751794, 0.20067069546215116,
		0.24116205681688807, 0.2818511521409877, 0.322773392263051, 0.36396537720141164, 0.4054651081081644,
		0.44731221804366483, 0.4895482253187058, 0.5322168137473082, 0.5753641449035618, 0.6190392084062234,
		0.6632942174102642, 0.7081850579244858, 0.7537718023763802, 0.8001193001121132, 0.8472978603872036,
		0.8953840470548414, 0.9444616088408514, 0.994622575144062, 1.0459685551826876, 1.0986122886681098,
		1.1526795099383855, 1.2083112059245342, 1.2656663733312759, 1.3249254147435985, 1.3862943611198906,
		1.4500101755059982, 1.5163474893680884, 1.5856272637403819, 1.6582280766035324, 1.7346010553881064,
		1.8152899666382492, 1.900958761193047, 1.992430164690206, 2.0907410969337694, 2.1972245773362196,
		2.3136349291806306, 2.4423470353692043, 2.586689344097943, 2.751535313041949, 2.9444389791664403,
		3.1780538303479458, 3.4760986898352733, 3.8918202981106265, 4.59511985013459,
	}
}

// milliPerUnit is the milli-GPU of fragment for which the sigmoid's argument is 1.
const milliPerUnit = 1000

// thresholds computes least: the score is ⌊100·σ(x)⌋ for a decrease of x thousand
// milli-GPU, and σ is as far below ½ for −x as it is above for x.
func (w *workload) thresholds() {
	table := logit()
	for i := range w.least {
		k, sign := i+1, 1.0
		if k == 50 {
			continue // x = 0
		}
		if k < 50 {
			k, sign = 100-k, -1
		}
		w.least[i] = ceil(float64(float64(milliPerUnit*w.total) * sign * table[k-51]))
	}
}

// ceil returns the least whole number that is not less than x.
func ceil(x float64) int64 {
	whole := int64(x)
	if float64(whole) < x {
		whole++
	}
	return whole
}

// score returns the score for a decrease of the fragment.
func (w *workload) score(decrease int64) int64 {
	low, high := 0, len(w.least) // the score is between low and high
	for low < high {
		if middle := (low + high) / 2; decrease >= w.least[middle] {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return int64(low)
}
