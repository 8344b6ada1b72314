// Command house measures the source code, so that two commits can be compared: its size, and how far one has to read to
// follow a purchase. It reads the files that git knows below -tree and runs none of them.
//
//	house [-tree DIR]           sizes by area, what is too large, and which imports run up: Markdown tables
//	house [-tree DIR] path      the functions of a purchase from its route to its row, with lines and branches
//
// How it counts: lines as wc does, including blank ones and comments. Test files and generated files are left out.
// Every statement counts except blocks, clauses and empty ones. The lines of a function are those from func to its
// closing brace; its branches are the decisions in it (if, for, range, case, && and ||), and its cyclomatic complexity
// is one more. A function literal belongs to the function around it. Columns are runes, with a tab as wide as four.
//
// Three lists beside the program say what to measure: areas.txt, features.txt and path.txt. An older or newer tree may
// need different ones, for which there are flags. limits.txt says how much there may be at most; a test holds it.
package main

import (
	"context"
	_ "embed" // the lists are files
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// The lists for today's tree.
var (
	//go:embed areas.txt
	areasToday string
	//go:embed features.txt
	featuresToday string
	//go:embed path.txt
	pathToday string
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("house", flag.ContinueOnError)
	dir := flags.String("tree", "", "the `folder` that is measured; the work tree around the current one by default")
	areas := flags.String("areas", "", "a `file` to use for areas.txt")
	features := flags.String("features", "", "a `file` to use for features.txt")
	list := flags.String("list", "", "a `file` to use for path.txt")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *dir == "" {
		var err error
		if *dir, err = workTree(ctx); err != nil {
			return err
		}
	}
	switch command := strings.Join(flags.Args(), " "); command {
	case "":
		return size(ctx, out, *dir, *areas, *features)
	case "path":
		text, err := listOr(*list, pathToday)
		if err != nil {
			return err
		}
		return printPath(ctx, out, *dir, text)
	default:
		return fmt.Errorf("%q is not a command; there is only path", command)
	}
}

// workTree returns the top of the work tree around the current folder.
func workTree(ctx context.Context) (string, error) {
	top, err := exec.CommandContext(ctx, "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", fmt.Errorf("there is no work tree around this folder: %w", err)
	}
	return strings.TrimSpace(string(top)), nil
}

func size(ctx context.Context, out io.Writer, dir, areasFile, featuresFile string) error {
	text, err := listOr(areasFile, areasToday)
	if err != nil {
		return err
	}
	areas, err := parseAreas(text)
	if err != nil {
		return err
	}
	if text, err = listOr(featuresFile, featuresToday); err != nil {
		return err
	}
	features, err := parseFeatures(text)
	if err != nil {
		return err
	}
	t, err := readTree(ctx, dir)
	if err != nil {
		return err
	}
	printAreas(out, t, areas)
	printMeasures(out, t, areas)
	printFeatures(out, t, areas, features)
	return nil
}

// listOr returns a file's text, or today's text if no file is named.
func listOr(file, today string) (string, error) {
	if file == "" {
		return today, nil
	}
	text, err := os.ReadFile(file)
	return string(text), err
}

// words returns the words of each line that has any, without comments.
func words(text string) (lines [][]string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, strings.Fields(line))
		}
	}
	return lines
}
