// Package httpkit has the building blocks of the routes of the core and of features: callers, routes, answers, failures
// and streams. Package httpapi serves them: it is the only place where requests are authenticated, answers written, and
// requests logged and counted.
//
// A handler returns an answer or an error and writes nothing, so that a forgotten return after a refusal cannot happen;
// a stream is the exception. An error that no rule matches is answered as INTERNAL, without details.
package httpkit
