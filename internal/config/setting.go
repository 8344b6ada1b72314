package config

import (
	"fmt"
	"log/slog"
	"reflect"
	"strings"
)

// setting is a field of Config that is set by a variable.
type setting struct {
	group, index int // field number index of Config's group number group
	field        reflect.StructField
}

func (s setting) name() string          { return s.field.Tag.Get("env") }
func (s setting) tag(key string) string { return s.field.Tag.Get(key) }

// in returns the setting's value in c.
func (s setting) in(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().Field(s.group).Field(s.index)
}

// settings returns all settings in the order of the table.
func settings() []setting {
	var all []setting
	t := reflect.TypeFor[Config]()
	for g := range t.NumField() {
		group := t.Field(g).Type
		for i := range group.NumField() {
			if f := group.Field(i); f.Tag.Get("env") != "-" {
				all = append(all, setting{g, i, f})
			}
		}
	}
	return all
}

// String returns a line "VARIABLE=value" for each setting, with secrets masked.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range settings() {
		fmt.Fprintf(&b, "%s=%s\n", s.name(), shown(s.in(&c)))
	}
	return b.String()
}

// LogValue returns the settings as a group of log attributes, with secrets masked.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, s := range settings() {
		attrs = append(attrs, slog.String(s.name(), shown(s.in(&c))))
	}
	return slog.GroupValue(attrs...)
}

// shown formats a value as in the environment, with secrets masked.
func shown(v reflect.Value) string {
	if list, ok := reflect.TypeAssert[[]string](v); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}
