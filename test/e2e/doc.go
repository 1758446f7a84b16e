// Package e2e tests a scheduler as a separate process against a real API server
// and etcd: `berth run`, or kube-scheduler, to which everything that Berth means
// to do alike is held.
//
//	go test ./e2e                              # Berth
//	go test ./e2e -scheduler kube-scheduler    # the same cases, without those of TestBerth
//	go test ./e2e -scheduler kube-scheduler -rewrite -run TestUpstream   # record what it does
//	go test ./e2e -rewrite -run TestBerth/scripts                        # and what Berth does alone
package e2e
