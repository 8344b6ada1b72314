// Package pages serves the pages of web/ to browsers, in front of the service's routes.
//
//	index.html       /
//	NAME.html        /NAME
//	assets/FILE      /assets/FILE, and /assets/VERSION/FILE, which the pages use
//	any other FILE   /FILE
//
// To serve another file, add it to web/.
//
// # Caching
//
// A page is requested again at each visit, and answered with 304 if it has not changed. The paths of its assets contain
// one version for all assets, so they may be cached for a year: a new version has new paths, and modules that import
// each other by relative paths are always of the same version. While instances are being replaced, one may be asked for
// the other's version: it answers with its own and forbids caching. Text is compressed once, at the first request.
//
// # Modules
//
// A page preloads every module that its own needs ({{range modules "buyer/buyer.js"}}), so that a browser fetches all
// of them at once. Otherwise it would learn of each only from a module that imports it, a round trip later.
//
// # Comments
//
// Lines of scripts that are comments are left out, a fifth of what buyers load; other lines keep their numbers.
//
// # What a page may do
//
// The Content-Security-Policy lets a page load scripts, styles and pictures only from this service (pictures also from
// the hosts of [Site]), talk only to this service and to the identity providers from which it fetches tokens
// ([Provider]), and be shown in no frame. Inline scripts and styles are forbidden. A page that needs more gets an entry
// in policies, with the reason.
//
// # What can go wrong
//
// All files are in memory from the start and no store is used, so pages are shown even while stores are down. Requests
// for other paths go to the service, which answers programs with NOT_FOUND, and browsers with not-found.html.
package pages
