package browser

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/server"
)

// libreOffice opens the files by LibreOffice, which is large, instead of Gnumeric.
var libreOffice = flag.Bool("libreoffice", false, "open files with LibreOffice instead of Gnumeric")

// asCSV opens a workbook in a program that people use, and returns it as CSV, with cells as they are shown.
func asCSV(tb testing.TB, book []byte) []byte {
	tb.Helper()
	name, in := "ssconvert", "gnumeric"
	if *libreOffice {
		name, in = "soffice", "libreoffice-calc"
	}
	program, err := server.Program(tb.Context(), name, in)
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	from, to := filepath.Join(dir, "file.xlsx"), filepath.Join(dir, "file.csv")
	if err := os.WriteFile(from, book, 0o600); err != nil {
		tb.Fatal(err)
	}
	args := []string{
		"--export-type=Gnumeric_stf:stf_assistant", "--export-options=separator=, format=preserve", from, to,
	}
	if *libreOffice { // by comma, quotes, UTF-8, from line 1, each cell as it is shown
		args = []string{
			"--headless", "--convert-to", "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true",
			"--outdir", dir, from,
		}
	}
	cmd := exec.CommandContext(tb.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C.UTF-8")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(to)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// saves presses a button that saves a file, and returns its lines, by their heads, as a spreadsheet shows them.
func (w *window) saves(button string) (lines []map[string]string) {
	w.tb.Helper()
	evaluate[bool](w, `(make => {
  window.savedFile = '';
  URL.createObjectURL = (file) => {
    URL.createObjectURL = make;
    file.arrayBuffer().then((all) => (window.savedFile = btoa(String.fromCharCode(...new Uint8Array(all)))));
    return make.call(URL, file);
  };
  return true; })(URL.createObjectURL)`)
	w.click(button)
	w.until("window.savedFile")
	book, err := base64.StdEncoding.DecodeString(evaluate[string](w, "window.savedFile"))
	if err != nil {
		w.tb.Fatal(err)
	}
	text := asCSV(w.tb, book)
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 2 {
		w.tb.Fatalf("%v: %s", err, text)
	}
	for _, row := range rows[1:] {
		line := map[string]string{}
		for i, head := range rows[0] {
			line[head] = row[i]
		}
		lines = append(lines, line)
	}
	return lines
}

// TestFilesOpen saves each of the console's files, and opens it with a program that people use: ids have all their
// digits, amounts have decimals, times are times, nothing is a formula, and Chinese is Chinese.
func TestFilesOpen(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	const title = "=1+1 牛肉面"
	voucher := s.onSale(title, 9)
	order, payment := s.paidWith(voucher, 41)
	expect := func(file string, line map[string]string, want map[string]string) {
		t.Helper()
		for head, value := range want {
			if line[head] != value {
				t.Errorf("%s: %s is %q, want %q; %v", file, head, line[head], value, line)
			}
		}
	}
	w := open(t, s.url("/admin#/payments"), s.asAdmin(desktop()))
	w.sees(fmt.Sprintf("[data-payment=%s]", payment), "")
	lines := w.saves("[data-act=save-payments]")
	expect("payments", lines[0], map[string]string{
		"id": payment, "orderId": order, "amount": "10.00", "keptAmount": "10.00", "refundedAmount": "0.00",
		"refundTime (UTC)": "",
	})
	received, err := time.Parse(time.DateTime, lines[0]["receiveTime (UTC)"])
	if age := time.Since(received); err != nil || age < 0 || age > time.Hour {
		t.Errorf("%v: %v", lines[0], err)
	}

	w.visit(s.url(fmt.Sprintf("/admin#/report/%d", voucher)))
	w.sees("h1", title)
	expect("orders", w.saves("[data-act=save-orders]")[0], map[string]string{
		"id": order, "amount": "10.00", "quantity": "1", "status": "paid",
	})
	figures := map[string]string{}
	for _, line := range w.saves("[data-act=save-report]") {
		figures[line["figure"]] = line["value"]
	}
	expect("report", figures, map[string]string{
		"title": title, "keptAmount": "10.00", "sold.units": "1", "orders.paid.amount": "10.00",
	})

	w.visit(s.url("/admin#/audit"))
	w.sees("tr[data-action=create]", "")
	all := w.saves("[data-act=save-audit]")
	if changes := all[len(all)-1]["changes"]; !strings.Contains(changes, "title: "+title) {
		t.Errorf("the audit trail has %q", changes)
	}
}
