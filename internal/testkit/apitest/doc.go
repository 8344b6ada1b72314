// Package apitest tests routes against web/openapi.yaml: it provokes every described answer, and fails on any other.
// The core and each feature list the cases of their own routes and open the API that serves them. A route without a
// case, a case without a route, and a status or code that cannot be provoked are failures.
package apitest
