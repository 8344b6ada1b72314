package test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/internal/testkit/contract"
	"seckill/internal/testkit/server"
	"seckill/test/box"
)

// Answers to requests that the service cannot read as they were meant, and those to a token that did not come. Ids
// that do not exist are 404 too; only a path that does not has this detail. A till's routes are 403 for an admin,
// whose token is sent.
var (
	notUnderstood = regexp.MustCompile(`^(000|400|405|413|415|500)\b|There is nothing at this path`)
	notSignedIn   = regexp.MustCompile(`^401\b`)
)

const (
	// samplesWithin limits all samples of a language, and for Go compiling them, on a machine that is busy with other
	// tests.
	samplesWithin = 5 * time.Minute
	// streamSeconds is for how long a stream is read: a busy machine begins it within that.
	streamSeconds = 6
)

// TestSamples: the requests that /docs shows for each route, in each language, are made as they stand there, and
// understood.
func TestSamples(t *testing.T) {
	t.Parallel()
	c, err := contract.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	site := box.EmbeddedSite(t)
	samples := map[string]map[string]contract.Sample{} // by language, by operation
	for _, o := range c.Operations() {
		for _, s := range o.Samples() {
			if samples[s.Language] == nil {
				samples[s.Language] = map[string]contract.Sample{}
			}
			samples[s.Language][o.Method+" "+o.Path] = s
		}
	}
	for language, run := range map[string]func(context.Context, *testing.T, map[string]contract.Sample) *exec.Cmd{
		"curl": curlProgram, "JavaScript": nodeProgram, "Go": goProgram,
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), samplesWithin)
			defer cancel()
			cmd := run(ctx, t, samples[language])
			cmd.Env = append(os.Environ(), "URL="+site.URL(""), "TOKEN="+box.AdminToken())
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, &stderr)
			}
			checkAnswers(t, samples[language], string(out))
		})
	}
}

// checkAnswers reads what a program has printed: before each answer a line "== METHOD PATH".
func checkAnswers(t *testing.T, samples map[string]contract.Sample, out string) {
	t.Helper()
	answers := map[string]string{}
	for part := range strings.SplitSeq(out, "== ") {
		name, answer, found := strings.Cut(part, "\n")
		if found {
			answers[name] = strings.TrimSpace(answer)
		}
	}
	for name, sample := range samples {
		if answer := answers[name]; answer == "" || notUnderstood.MatchString(answer) ||
			sample.Token && notSignedIn.MatchString(answer) {
			t.Errorf("%s is answered %q:\n%s", name, answer, sample.Text)
		}
		if sample.Stream && strings.HasPrefix(answers[name], "200") && !strings.Contains(answers[name], "event: ") {
			t.Errorf("%s streams no event: %q\n%s", name, answers[name], sample.Text)
		}
	}
}

// curlProgram prints the status of each answer, and then its body.
func curlProgram(ctx context.Context, t *testing.T, samples map[string]contract.Sample) *exec.Cmd {
	t.Helper()
	program, err := server.CurlProgram(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	fmt.Fprintf(&script, "curl() { case $1 in -N) most=%d;; *) most=60;; esac; %s -s --max-time $most -o body -w "+
		"'%%{http_code} ' \"$@\" || true; cat body; echo; }\n", streamSeconds, program)
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		fmt.Fprintf(&script, "echo '== %s'; : > body\n%s\n", name, samples[name].Text)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", script.String())
	cmd.Dir = t.TempDir()
	return cmd
}

// nodeProgram runs each sample in a function of its own.
func nodeProgram(ctx context.Context, t *testing.T, samples map[string]contract.Sample) *exec.Cmd {
	t.Helper()
	var script strings.Builder
	script.WriteString("const url = process.env.URL, token = process.env.TOKEN;\n")
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		end := ""
		if samples[name].Stream {
			end = fmt.Sprintf("new Promise((done) => setTimeout(done, %d)),", 1000*streamSeconds)
		}
		fmt.Fprintf(&script, "console.log('== %s');\nawait Promise.race([%s (async () => {\n%s\n})()]);\n",
			name, end, samples[name].Text)
	}
	script.WriteString("process.exit(); // also from streams that go on\n")
	path := filepath.Join(t.TempDir(), "samples.mjs")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := server.NodeProgram(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, program, path)
}

// goProgram compiles all samples as one program.
func goProgram(ctx context.Context, t *testing.T, samples map[string]contract.Sample) *exec.Cmd {
	t.Helper()
	var source strings.Builder
	source.WriteString("package main\n\nimport (\n\"context\"\n\"errors\"\n\"fmt\"\n\"io\"\n\"net/http\"\n\"os\"\n" +
		"\"strings\"\n)\n\nfunc main() {\n")
	source.WriteString("ctx, url, token := context.Background(), os.Getenv(\"URL\"), os.Getenv(\"TOKEN\")\n" +
		"_, _ = token, strings.NewReader\nvar err error\n")
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		most := samplesWithin
		if samples[name].Stream {
			most = streamSeconds * time.Second
		}
		fmt.Fprintf(&source, "fmt.Println(%q)\nerr = func() error {\nctx, cancel := context.WithTimeout(ctx, %d)\n"+
			"defer cancel()\n%s\n}()\n", "== "+name, most, samples[name].Text)
		fmt.Fprintf(&source, "if err != nil && !(%t && errors.Is(err, context.DeadlineExceeded)) {\npanic(err)\n}\n",
			samples[name].Stream)
	}
	source.WriteString("}\n")
	path := filepath.Join(t.TempDir(), "samples.go")
	if err := os.WriteFile(path, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, "go", "run", path)
}
