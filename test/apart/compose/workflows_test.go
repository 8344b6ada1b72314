package compose

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Workflows call only make targets, have only read permissions, use no secrets, and pin third-party actions.
func TestWorkflowsCallOnlyMake(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %v: %v", files, err)
	}
	targets := makeTargets(t)
	for _, file := range files {
		name := strings.TrimPrefix(file, root+string(filepath.Separator))
		workflow := text(t, name)
		if got := found(`(?m)^ *permissions:((?:\n +[\w-]+: .*)+)`, workflow); !slices.Equal(got,
			[]string{"\n  contents: read"}) {
			t.Errorf("%s has the permissions %q, want contents: read alone", name, got)
		}
		if strings.Contains(workflow, "secrets.") || strings.Contains(workflow, "pull_request_target") {
			t.Errorf("%s has a secret within reach", name)
		}
		for _, action := range found(`uses: (\S+)`, workflow) {
			if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(action) {
				t.Errorf("%s uses %s, which is not pinned to a commit", name, action)
			}
		}
		for _, command := range found(`run: (.*)`, workflow) {
			if command != "make ${{ matrix.target }}" {
				t.Errorf("%s runs %q, want a make target of the matrix", name, command)
			}
		}
		for _, target := range matrix(workflow) {
			if !slices.Contains(targets, target) {
				t.Errorf("%s runs make %s, which does not exist", name, target)
			}
		}
	}
}

// The workflow for every change runs the same steps as .ci/run.
func TestWorkflowHasTheStepsOfCI(t *testing.T) {
	t.Parallel()
	steps := regexp.MustCompile(`[\w-]+|'[^']+'`).FindAllString(
		strings.Join(found(`(?m)^steps=\((.*)\)$`, text(t, ".ci/run")), " "), -1)
	for i, step := range steps {
		steps[i] = strings.Trim(step, "'")
	}
	if diff := cmp.Diff(steps, matrix(text(t, ".github/workflows/ci.yml"))); diff != "" {
		t.Errorf("steps of .ci/run (-) and jobs of the workflow (+):\n%s", diff)
	}
}

// matrix returns the make targets that a workflow runs.
func matrix(workflow string) []string {
	var all []string
	for _, list := range found(`(?m)^ +target: \[(.*)\]$`, workflow) {
		all = append(all, strings.Split(list, ", ")...)
	}
	return all
}

// makeTargets returns all make targets, those of the lab with the prefix -C lab.
func makeTargets(t *testing.T) []string {
	t.Helper()
	targets := found(`(?m)^([a-z-]+):`, text(t, "Makefile"))
	for _, target := range found(`(?m)^([a-z-]+):`, text(t, "lab/Makefile")) {
		targets = append(targets, "-C lab "+target)
	}
	return targets
}
