// Package browser uses the pages as people do: the built server, alone and on real stores, in a real Chromium, on the window
// of a telephone and of a desk, with mouse and with keys, in both languages. Everything that a page is shown is looked at by
// axe-core, too, and an error on a page's console fails its test.
//
// With -pictures DIR the tests write pictures of the states that they come through; `make pictures` does so into docs/images.
//
// A window is opened with open (window_test.go), a service with embeddedShop or realShop (shop_test.go).
package browser
