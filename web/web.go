// Package web holds the pages that the service shows in a browser, and what they load. internal/kit/pages serves them.
package web

import "embed"

// FS holds a page in each *.html, everything that pages load below assets, and the description of the HTTP interface,
// openapi.yaml, which docs.html shows; provider.yaml describes that of payment providers. There is no
// build step: browsers get these files as they are, but scripts without the lines that are comments.
//
//go:embed *.html openapi.yaml assets
var FS embed.FS
