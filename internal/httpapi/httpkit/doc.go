// Package httpkit is what the routes of the core and of features are made of: who calls, what a route is, what it
// answers, how it fails, and streams. Package httpapi serves them: it is the only place where requests are
// authenticated, answers written, and requests logged and counted.
//
// A handler returns an answer or an error and writes nothing, so that a forgotten return after a refusal cannot
// happen; a stream is the exception. An error that no rule matches is answered as INTERNAL, and tells nothing of
// itself.
package httpkit
