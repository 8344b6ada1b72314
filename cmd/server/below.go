package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"seckill/internal/feature"
	"seckill/internal/httpapi/httpkit"
)

// ofShops is the one path of the service that a base may have, too: GET /shop/7 below it is GET /shop/shop/7, which a
// proxy may have stripped, and there is no GET /7.
const ofShops = "/shop"

var aShop = regexp.MustCompile(`^/shop/[0-9]+$`)

// below returns a handler of requests below a path, "" for the root. It takes the path away from those that have it:
// some proxies do so themselves. The path alone is redirected to where its pages are.
func below(base string, service http.Handler) http.Handler {
	if base == "" {
		return service
	}
	kept := http.StripPrefix(base, service)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case base == ofShops && aShop.MatchString(r.URL.Path):
			service.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, base+"/"):
			kept.ServeHTTP(w, r)
		case r.URL.Path == base && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			w.Header().Set("Location", base+"/") // http.Redirect would clean it
			w.WriteHeader(http.StatusPermanentRedirect)
		default:
			service.ServeHTTP(w, r)
		}
	})
}

// checkBase returns feature.ErrSettings, wrapped, for a base that begins as one of the service's own paths does: nobody
// could tell whether a proxy has stripped it.
func checkBase(base string, routes []httpkit.Route) error {
	own := map[string]bool{"assets": true, "sandbox": true, "till": true, "docs": true, "openapi.yaml": true}
	for _, route := range routes {
		own[firstOf(route.Path)] = true
	}
	if first := firstOf(base); base != "" && base != ofShops && own[first] {
		return fmt.Errorf("%w: SECKILL_PUBLIC_URL has the path %s (allowed: one that does not begin as a path of the "+
			"service does, such as /flash)", feature.ErrSettings, base)
	}
	return nil
}

// firstOf returns the first segment of a path.
func firstOf(path string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first
}
