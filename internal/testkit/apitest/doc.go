// Package apitest holds routes to their description: it provokes everything that web/openapi.yaml says of a route, and
// nothing else may be answered. The core and each feature have a table of cases for their own routes, and open the API
// that answers them; a route without a case, a case without a route, and a status or a code that cannot be had fail.
package apitest
