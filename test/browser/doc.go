// Package browser uses the pages as people do: the built server, embedded and on real stores, in a real Chromium, in
// windows of a phone and of a desktop, with mouse and keyboard, in both languages. axe-core checks the pages for
// accessibility, and an error on a page's console fails its test.
//
// With -pictures DIR the tests write pictures of the pages; `make test-browser PICTURES=1` writes them into
// bin/pictures, and takes those that docs/images has from there.
//
// open (window_test.go) opens a window; embeddedShop and realShop (shop_test.go) start a service.
package browser
