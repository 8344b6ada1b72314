// Package alerts provokes real faults and has Prometheus itself say which alerts fire: the service that runs is the
// real one, the rules and the scrape interval are those of deploy/prometheus, and no metric is made up. A clean sale
// fires none.
//
//	faults_test.go   each fault, with the alerts that it has to fire, and the alerts that no fault here fires, with
//	                 why
//	alerts_test.go   a fault after the other, the clean sale, and that no alert was forgotten
//	rig_test.go      the service behind proxies that break
//
// No rule is shortened. Rules are evaluated every five seconds instead of every minute, and of the eight hours for
// which a webhook event is tried again the database is told that they have passed.
//
// It takes up to twenty minutes, because alerts wait before they fire, and is therefore no part of CI: make -C lab
// alerts. What a rule computes from metrics, fault or no fault, deploy/prometheus/rules_test.yml says.
package alerts
