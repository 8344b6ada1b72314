// Package beside measures what else the service does while a sale runs: waiting lists, redemption, and sign-ins.
package beside
