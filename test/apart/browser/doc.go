// Package browser uses the pages as people do: the built server, embedded or on real stores, in a real Chromium, in
// windows of phone and desktop size, with mouse and keyboard, in both languages. axe-core checks accessibility, and an
// error on a page's console fails its test.
//
// With -pictures DIR the tests write pictures of the pages. `make test-browser PICTURES=1` writes them into
// bin/pictures, and copies those that docs/images already has.
//
// open (window_test.go) opens a window; embeddedShop and realShop (shop_test.go) start a service.
package browser
