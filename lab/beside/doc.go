// Package beside measures what else the service does while a sale runs: waiting lists, offers, and redemption.
package beside
