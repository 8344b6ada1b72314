// Package pages serves the pages of web/ to browsers, in front of the service's routes.
//
//	index.html       /
//	NAME.html        /NAME
//	assets/FILE      /assets/FILE, and /assets/VERSION/FILE, by which pages name it
//	any other FILE   /FILE
//
// To serve another file, add it to web/.
//
// # Caching
//
// A page is requested again at each visit, and answered 304 if it has not changed. What it loads has the version of
// all assets together in its path and may be cached for a year: a new version has new paths, and modules that import
// each other by relative paths are always of one version. An instance that is asked for another one's version, while
// instances are being replaced, answers with its own, which is not to be cached. Text is compressed once, at the
// first request.
//
// # What a page may do
//
// Its Content-Security-Policy lets it load scripts, styles and pictures from this service alone, talk to this service
// alone, and be shown in no frame; there are no inline scripts and styles. A page that needs more has an entry in
// policies, with the reason.
//
// # What can go wrong
//
// All files are in memory from the start and no store is used, so pages are shown also while stores are away. A path
// that is no file's goes to the service, which answers NOT_FOUND.
package pages
