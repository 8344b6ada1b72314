package shop_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Redis says is shown of partitions whose Redis answers.
func TestListPartitions(t *testing.T) {
	t.Parallel()
	w := asAdmin(t, newAPI(t), request{Method: http.MethodGet, Target: "/admin/partition"})
	want := `{"success":true,"data":[` +
		`{"number":0,"state":"open","sales":3,` +
		`"figures":{"at":"2026-01-02T12:00:00.000Z","node":"10.0.0.1:6379","waiting":4,` +
		`"waitingMs":1500,"deadLetters":1,"added":70,"processorMs":2000},"instances":2},` +
		`{"number":1,"state":"closed","since":"2026-01-02T12:00:00.000Z",` +
		`"sales":1,"figures":{"at":"2026-01-02T12:00:00.000Z","waiting":0,"waitingMs":0,"deadLetters":0,"added":0,` +
		`"processorMs":0},"instances":1,"missing":["old"]},{"number":2,"state":"open",` +
		`"since":"2026-01-02T12:00:00.000Z",` +
		`"sales":0,"away":true,"instances":0},{"number":3,"state":"removed","since":"2026-01-02T12:00:00.000Z",` +
		`"sales":0,` +
		`"instances":0},{"number":4,"state":"open","since":"2026-01-02T12:00:00.000Z","sales":0,` +
		`"otherData":true,"instances":0}]}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

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
