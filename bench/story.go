package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"seckill/bench/chart"
)

// The page beside the reports' directory tells what the figures mean. Its words are written by hand, its figures by the
// benchmark, between marks such as these.
const (
	sectionBegins = "<!-- measured: %s -->\n"
	sectionEnds   = "<!-- measured until here -->\n"
)

// updateStory puts the sections into the page; a directory without a page beside it is left alone.
func updateStory(dir string, sections map[string]string, progress io.Writer) error {
	return updatePage(filepath.Clean(dir)+".md", sections, func(path string) { fmt.Fprintln(progress, "written:", path) })
}

// updatePage puts the sections into a page, if there is one.
func updatePage(path string, sections map[string]string, written func(path string)) error {
	page, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	text := string(page)
	for name, body := range sections {
		if text, err = replaceSection(text, name, body); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	written(path)
	return os.WriteFile(path, []byte(text), 0o644)
}

// replaceSection replaces what stands between a section's marks.
func replaceSection(page, name, body string) (string, error) {
	before, rest, found := strings.Cut(page, fmt.Sprintf(sectionBegins, name))
	if !found {
		return "", fmt.Errorf("it has no section %q", name)
	}
	_, after, found := strings.Cut(rest, sectionEnds)
	if !found {
		return "", fmt.Errorf("section %q has no end", name)
	}
	return before + fmt.Sprintf(sectionBegins, name) + body + sectionEnds + after, nil
}

// sections are the comparison's parts of the page.
func (r *report) sections(name string) map[string]string {
	const dir = "benchmarks/" // of the reports, seen from the page
	return map[string]string{
		"run": fmt.Sprintf("The figures are of %s: median of %d rounds, lowest and highest in brackets. %s %s\n[The whole report](%s%s.md), "+
			"[every single figure](%s%s.json).\n", r.Machine.Date, r.Plan.Rounds, r.Machine, r.Machine.durability(), dir, name, dir, name),
		"chart":   fmt.Sprintf("![Answers and recorded orders per second](%s%s.svg)\n", dir, name),
		"stages":  r.stageTable(),
		"rushes":  r.rushTable(),
		"crashes": r.crashTable(),
		"costs":   r.costTable() + "\n" + r.bounds(),
		"targets": fmt.Sprintf("%s\n![How much of each target is reached](%s%s-targets.svg)\n", r.targetTable(), dir, name),
	}
}

// stageTable puts speed and faults of the stages side by side.
func (r *report) stageTable() string {
	var b strings.Builder
	rows := [][]string{{"Stage", "Answers/s", "Recorded/s meanwhile", "What goes wrong"}}
	for _, name := range []string{
		bareName, checkName, updateName, userLockName, redisLockName, memoryName, listName, pubsubName, streamName, serviceName, alwaysName, soldOutName,
	} {
		l := r.line(name)
		recorded := l.Meanwhile.text(0)
		switch name {
		case checkName, updateName, userLockName, redisLockName:
			recorded = "all of them"
		}
		rows = append(rows, []string{name, l.Rate.text(0), recorded, r.fault(name)})
	}
	rows = append(rows,
		[]string{rawScriptName, r.line(rawScriptName).Rate.text(0), "", "the limit of admission"},
		[]string{rawScriptsName, r.line(rawScriptsName).Rate.text(0), "", "the same, as this service calls it"},
		[]string{rawInsertName, "", r.line(rawInsertName).Draining.text(0), "the limit of recording"})
	grid(&b, rows)
	return b.String()
}

// fault says what was seen to go wrong with a stage in this run.
func (r *report) fault(name string) string {
	var faults []string
	for _, d := range r.Rushes {
		plain := strings.TrimSuffix(d.Contestant, otherInstances)
		if plain != name {
			continue
		}
		if d.Oversold > 0 {
			faults = append(faults, fmt.Sprintf("%d units sold %d times", d.Units, d.Orders))
		}
		if d.Twice > 0 {
			where := ""
			if d.Processes > 1 {
				where = fmt.Sprintf(" (%d processes)", d.Processes)
			}
			faults = append(faults, fmt.Sprintf("%d orders of users who had one%s", d.Twice, where))
		}
	}
	for _, d := range r.Crashes {
		if d.Contestant == name && d.Lost > 0 {
			faults = append(faults, fmt.Sprintf("SIGKILL loses %s of %s accepted orders", chart.Number(float64(d.Lost)), chart.Number(float64(d.Accepted))))
		}
	}
	switch {
	case name == bareName:
		return "the limit of the HTTP side: nothing is sold"
	case len(faults) == 0 && name == streamName:
		return "nothing is lost; minutes of work wait"
	case len(faults) == 0:
		return ""
	}
	return strings.Join(faults, "; ")
}
