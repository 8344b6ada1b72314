// Package beside measures what else the service does while a sale runs: waiting lists and redemption.
package beside
