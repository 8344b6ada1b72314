// Package alerts provokes real faults and has Prometheus itself say which alerts fire: the service that runs is the real one, the
// rules and the scrape interval are those of deploy/prometheus, and no metric is made up. A clean sale fires none.
//
// It takes minutes, because alerts wait before they fire, and is therefore no part of CI: make test-alerts. What a rule computes from
// metrics, fault or no fault, deploy/prometheus/rules_test.yml says.
package alerts
