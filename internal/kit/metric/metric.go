// Package metric is what all metrics of the service have in common: their namespace, and the limits of histograms.
package metric

import "github.com/prometheus/client_golang/prometheus"

// Namespace is the first word of each metric's name.
const Namespace = "seckill"

// Seconds returns bucket limits from half a millisecond to half a minute, for everything that a caller waits for.
func Seconds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// Counters returns a counter for each value of the labels.
func Counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

// Histogram returns a histogram with the limits of buckets.
func Histogram(subsystem, name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets,
	})
}
