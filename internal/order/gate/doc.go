// Package gate says what the admission script is asked and how it answers: a batch of requests for one sale, and one
// outcome for each. It says what follows from an outcome: the error for the caller, the answer under which the sale's
// counts count it, and whether the sale must be rebuilt. Package admission asks the script; redisstore runs it.
package gate
