// Package cooldown remembers which users let their orders expire unpaid, for the guard "coolDown" (package guard).
//
// The ledger is authoritative: it counts when it expires an order. A Loader reads new entries every second while a sale
// here has a cool-down, so a check asks no store. While the ledger is down, cool-downs go by the last entries read;
// after a restart a million users are known again within two minutes.
package cooldown
