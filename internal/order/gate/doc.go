// Package gate defines the requests to the admission script and its outcomes: a batch of requests for one sale, and one
// outcome for each. It also defines what follows from an outcome: the caller's error, the answer under which the sale's
// statistics count it, and whether the sale must be rebuilt. Package admission makes the requests; redisstore runs the
// script.
package gate
