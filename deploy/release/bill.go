package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// bill is a list of what programs are made of, as CycloneDX 1.6 has it: scanners that look for vulnerable versions
// read it. See https://cyclonedx.org/docs/1.6/json/.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"` // of this document
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component  component  `json:"component"`
	Properties []property `json:"properties"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// writeBill writes the commit, and what the programs say that they were built from: every module, and the Go toolchain
// with its standard library.
func writeBill(path, version, revision string, programs []file) error {
	b := bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{
			component{Type: "application", Ref: "seckill", Name: "seckill", Version: version},
			[]property{{"seckill:commit", revision}},
		},
	}
	for _, p := range programs {
		sum, err := sumOf(p.path)
		if err != nil {
			return err
		}
		b.Components = append(b.Components, component{
			Type: "file", Ref: "program/" + p.name, Name: p.name, Version: version, Hashes: []hash{{"SHA-256", sum}},
		})
		info, err := buildinfo.ReadFile(p.path)
		if err != nil {
			return fmt.Errorf("what %s was built from: %w", p.name, err)
		}
		b.Components = append(b.Components, library("stdlib", strings.TrimPrefix(info.GoVersion, "go")))
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			b.Components = append(b.Components, library(m.Path, m.Version))
		}
	}
	slices.SortFunc(b.Components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	b.Components = slices.CompactFunc(b.Components, func(a, b component) bool { return a.Ref == b.Ref })
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // for everybody
}

// library is a Go module, or the standard library, under its package URL.
func library(path, version string) component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return component{Type: "library", Ref: url, Name: path, Version: version, PURL: url}
}
