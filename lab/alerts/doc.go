// Package alerts causes real faults and lets Prometheus itself say which alerts fire: the service is the real one, the
// rules and the scrape interval are those of deploy/prometheus, and no metric is made up. A clean sale fires no alert.
//
//	faults_test.go   each fault with the alerts that it must fire, and the alerts that no fault here fires, with
//	                 the reason
//	alerts_test.go   all faults in turn, the clean sale, and a check that no alert was forgotten
//	rig_test.go      the service behind proxies that break
//
// No rule is shortened. But rules are evaluated every five seconds instead of every minute, and the test writes into
// the database that the eight hours of retries of a webhook event have passed.
//
// It takes up to twenty minutes, because alerts wait before they fire, so it is not part of CI: make -C lab alerts.
// deploy/prometheus/rules_test.yml tests what the rules compute from made-up metrics.
package alerts
