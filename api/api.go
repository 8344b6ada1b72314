// Package api embeds the description of the HTTP interface, which people and programs read.
package api

import _ "embed" // the description is a file

// Document is openapi.yaml: an OpenAPI 3.0 document in YAML.
//
//go:embed openapi.yaml
var Document []byte
