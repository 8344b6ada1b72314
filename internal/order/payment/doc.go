// Package payment defines the payments of orders: their states, the notices that providers send about them, and where
// their money is. A provider's notices may come repeatedly and in any order: Flow.After gives the same result.
package payment
