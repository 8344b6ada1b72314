package shop_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Admins read which payment provider gives no clear answers and since when, and for which refunds wait that is set no
// more.
func TestListProviders(t *testing.T) {
	t.Parallel()
	const want = `{"success":true,"data":[` +
		`{"name":"cards","set":true,"default":true,"waitingRefunds":2,"failure":{"reason":"status",` +
		`"detail":"503: closed","count":3,` +
		`"sinceTime":"2026-01-02T12:00:00.000Z","lastTime":"2026-01-02T12:01:00.000Z"}},` +
		`{"name":"bank","set":false,"default":false,"waitingRefunds":1}]}`
	w := asAdmin(t, newAPI(t), request{Method: http.MethodGet, Target: "/admin/provider"})
	if diff := cmp.Diff(want, w.Body.String()); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, diff)
	}
}
