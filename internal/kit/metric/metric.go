// Package metric has the namespace and the histograms' buckets that all metrics of the service share.
package metric

import "github.com/prometheus/client_golang/prometheus"

// Namespace is the first word of every metric's name.
const Namespace = "seckill"

// Seconds returns the buckets for waiting times: limits from half a millisecond to half a minute.
func Seconds() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
}

// Counter returns a counter.
func Counter(subsystem, name, help string) prometheus.Counter {
	return prometheus.NewCounter(
		prometheus.CounterOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help})
}

// Counters returns a family of counters with the labels.
func Counters(subsystem, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

// Gauge returns a gauge.
func Gauge(subsystem, name, help string) prometheus.Gauge {
	return prometheus.NewGauge(
		prometheus.GaugeOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help})
}

// Gauges returns a family of gauges with the labels.
func Gauges(subsystem, name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

// Histogram returns a histogram with the given bucket limits.
func Histogram(subsystem, name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: Namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets,
	})
}

// Desc describes a series that a collector makes whenever the metrics are read.
func Desc(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(Namespace, subsystem, name), help, labels, nil)
}
