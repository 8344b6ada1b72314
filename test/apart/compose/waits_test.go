package compose

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/internal/config"
)

// wait is a row of lab/notes/waits.md.
type wait struct {
	what    string
	bound   time.Duration
	file    string // "" for a setting
	name    string // of the constant or setting; "" if neither
	setting bool
}

// waits returns the rows of lab/notes/waits.md.
func waits(t *testing.T) (rows []wait) {
	t.Helper()
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(text(t, "lab/notes/waits.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.Contains(line, "---") || strings.Contains(line, "| Bound |") {
			continue
		}
		w := wait{what: strings.TrimSpace(cells[1])}
		bound, place := quoted.FindStringSubmatch(cells[2]), quoted.FindAllStringSubmatch(cells[4], -1)
		var err error
		if len(bound) != 2 || len(place) == 0 {
			t.Fatalf("the row of %q names no bound or no place", w.what)
		}
		if w.bound, err = time.ParseDuration(bound[1]); err != nil {
			t.Fatalf("%s: %v", w.what, err)
		}
		if w.file = place[0][1]; strings.HasPrefix(w.file, "SECKILL_") {
			w.file, w.name, w.setting = "", w.file, true
		} else if len(place) > 1 {
			w.name = place[1][1]
		}
		rows = append(rows, w)
	}
	return rows
}

// lab/notes/waits.md agrees with the code.
func TestWaitsAreAsDocumented(t *testing.T) {
	t.Parallel()
	defaults := map[string]string{}
	for _, row := range config.Table() {
		defaults[row.Name] = row.Default
	}
	for _, w := range waits(t) {
		var is time.Duration
		var err error
		switch {
		case w.setting:
			is, err = time.ParseDuration(defaults[w.name])
		case w.name != "":
			is, err = constant(filepath.Join(root, w.file), w.name)
		default:
			_ = text(t, w.file) // checks that the file exists
			continue
		}
		if err != nil || is != w.bound {
			t.Errorf("%s: the page says %v, %s %s is %v, %v", w.what, w.bound, w.file, w.name, is, err)
		}
	}
}

// constant returns the value of a duration constant in a file.
func constant(file, name string) (time.Duration, error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return 0, err
	}
	values := map[string]ast.Expr{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for i, v := range spec.Values {
				values[spec.Names[i].Name] = v
			}
		}
		return true
	})
	return duration(values, values[name])
}

// duration evaluates an expression of a duration constant.
func duration(values map[string]ast.Expr, e ast.Expr) (time.Duration, error) {
	units := map[string]time.Duration{
		"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 10, 64)
		return time.Duration(n), err
	case *ast.Ident:
		return duration(values, values[e.Name])
	case *ast.SelectorExpr:
		if unit, ok := units[e.Sel.Name]; ok {
			return unit, nil
		}
	case *ast.BinaryExpr:
		x, errX := duration(values, e.X)
		y, errY := duration(values, e.Y)
		if errX == nil && errY == nil && e.Op == token.MUL {
			return time.Duration(int64(x) * int64(y)), nil
		}
	}
	return 0, fmt.Errorf("no duration that this test reads: %T", e)
}

// computed are timeouts that are derived from others, by their expression in the code.
func computed() map[string]string {
	return map[string]string{
		"wait":            "SECKILL_MAX_WAIT, recordTimeout or rowTimeout",
		"due":             "until the next payment deadline, which the notifier polls by",
		"atMost":          "liveTimeout, or firstLive for a first load",
		"timeout":         "defaultFetchTimeout",
		"Lifetime":        "streamTime, or the token's end when that is sooner",
		"ShutdownTimeout": "SECKILL_SHUTDOWN_TIMEOUT",
		"last":            "half of SECKILL_SHUTDOWN_TIMEOUT",
		"memberTime":      "guardsTimeout or journalTimeout",
		"Timeout":         "callTimeout of package remotepay",
		"Wait":            "-wait of server payment try",
		"within":          "-wait of server payment try, or two seconds if no notice is expected",
		"patience":        "how soon a caller of server payment try leaves",
	}
}

// Every timeout of a call in the service is in lab/notes/waits.md. Locks have their own page.
func TestTimeoutsAreDocumented(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, w := range waits(t) {
		known[path.Dir(w.file)+" "+w.name] = true
		known[w.name] = known[w.name] || ast.IsExported(w.name) && !w.setting
	}
	timeouts := 0
	for _, folder := range []string{"internal", "cmd/server"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, d fs.DirEntry, err error) error {
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), root+"/")
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") ||
				strings.HasSuffix(file, "_test.go") || isOutside(dir) {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !isTimeout(call) {
					return true
				}
				timeouts++
				if !slices.ContainsFunc(names(call.Args[1]),
					func(name string) bool { return known[dir+" "+name] || known[name] || computed()[name] != "" }) {
					t.Errorf("%s: a call with the timeout %q is not in lab/notes/waits.md", file, names(call.Args[1]))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if timeouts < 40 {
		t.Errorf("%d timeouts were found", timeouts)
	}
}

// isOutside reports whether a folder does not serve buyers, or is documented elsewhere.
func isOutside(dir string) bool {
	for _, outside := range []string{"internal/lock", "internal/testkit", "internal/httpload", "internal/checker"} {
		if strings.HasPrefix(dir, outside) {
			return true
		}
	}
	return false
}

func isTimeout(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	return ok && strings.HasPrefix(sel.Sel.Name, "WithTimeout") && len(call.Args) >= 2
}

// names returns the names in an expression, such as order and RedisTimeout of order.RedisTimeout.
func names(e ast.Expr) (all []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			all = append(all, id.Name)
		}
		return true
	})
	return all
}
