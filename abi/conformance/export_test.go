package conformance

// Tester is what the kit's own tests run it on.
type Tester = tester

// RunOn is Run on something else than a *testing.T.
func RunOn(t Tester, h Host) { run(t, h) }
