// Package metric has the namespace and the histograms' buckets that all metrics of the service share.
package metric

import "github.com/prometheus/client_golang/prometheus"

// Namespace is the first word of every metric's name.
const Namespace = "seckill"

// Seconds returns the buckets for waiting times: limits from half a millisecond to half a minute.
func Seconds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// Counters returns a family of counters with the labels.
func Counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

// Histogram returns a histogram with the given bucket limits.
func Histogram(subsystem, name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets,
	})
}
