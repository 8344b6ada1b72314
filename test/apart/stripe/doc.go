// Package stripe tests the real server with seckill-stripe, as processes that are killed, and a stand-in for Stripe in
// the test: the conformance run of payment providers, and a day of money.
package stripe
