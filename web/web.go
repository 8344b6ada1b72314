// Package web holds the pages that the service shows in a browser, and what they load. internal/pages serves them.
package web

import "embed"

// FS holds a page in each *.html, and everything that pages load below assets. There is no build step: browsers get
// these files as they are.
//
//go:embed *.html assets
var FS embed.FS
