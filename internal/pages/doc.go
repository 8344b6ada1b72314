// Package pages serves the pages of web/ to browsers, in front of the service's routes.
//
//	index.html       /
//	NAME.html        /NAME
//	assets/FILE      /assets/FILE, and /assets/VERSION/FILE, by which pages name it
//	any other FILE   /FILE
//
// Adding a file to web/ is all that it takes to serve it.
//
// # Caching
//
// A page is asked for anew at each visit, and answered 304 where nothing has changed. What it loads has the version of all
// assets together in its path and may be kept for a year: a new version has new paths, and modules that import each other
// by relative paths are always of one version. An instance that is asked for another's version, while instances are being
// replaced, answers with its own and has nobody keep it. Text is compressed once, when it is first asked for.
//
// # What a page may do
//
// Its Content-Security-Policy lets it load scripts, styles and pictures from this service alone, talk to this service
// alone, and be shown in nobody's frame; there are no inline scripts and styles. A page that needs more has a line in
// policies, with the reason.
//
// # What can go wrong
//
// All files are in memory from the start and nothing is asked of a store, so pages are shown also while stores are away.
// A path that is no file's goes to the service, which says that there is nothing.
package pages
