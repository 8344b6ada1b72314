package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// Load reads the settings from an environment, a list of "NAME=value" as os.Environ returns it, and from the files that
// it names. The error is an *InvalidError with all problems; do not use the Config then.
func Load(environ []string) (Config, error) {
	vars := env.ToMap(environ)
	var (
		c  Config
		ps problems
	)
	checkNames(vars, &ps)
	readSecretFiles(vars, &ps)
	parse(vars, &c, &ps)
	tidy(vars, &c)
	checkConnections(vars, &c, &ps, openFiles())
	checkRanges(&c, &ps)
	checkListeners(&c.HTTP, &ps)
	checkSite(&c.HTTP, &ps)
	checkCallers(&c.HTTP, &ps)
	checkServer(&c, &ps)
	checkStores(vars, &c, &ps)
	checkRedis(&c, &ps)
	checkMySQL(&c, &ps)
	c.Redis.CAs = readCAs("SECKILL_REDIS_CA_FILE", c.Redis.CAFile, &ps)
	c.MySQL.CAs = readCAs("SECKILL_MYSQL_CA_FILE", c.MySQL.CAFile, &ps)
	checkJWT(&c, &ps)
	checkPayment(&c, &ps)
	checkGuards(&c, &ps) // last, because it compares its secret with the others
	checkNetworks("SECKILL_WEBHOOK_ALLOW", c.Webhook.Allow, &ps)
	c.Keep.check(&ps)
	c.Log.check(&ps)
	if err := ps.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// parse fills in c, group by group: the library's errors name only a field, which is unique only within its group.
func parse(vars map[string]string, c *Config, ps *problems) {
	v := reflect.ValueOf(c).Elem()
	for g := range v.NumField() {
		err := env.ParseWithOptions(v.Field(g).Addr().Interface(), env.Options{Environment: vars})
		if err == nil {
			continue
		}
		var all env.AggregateError
		if !errors.As(err, &all) {
			all.Errors = []error{err}
		}
		for _, err := range all.Errors {
			s, ok := unreadable(g, err)
			if !ok { // cannot happen with Config's tags, but must not be swallowed
				ps.add("SECKILL_*", err.Error(), "see the table of settings")
				continue
			}
			ps.add(s.name(), "cannot be read: it is "+strconv.Quote(vars[s.name()]), s.allowed())
		}
	}
}

// unreadable returns the setting of a group that the library could not parse. It is never a secret: every text can be
// parsed.
func unreadable(group int, err error) (setting, bool) {
	var bad env.ParseError
	if !errors.As(err, &bad) {
		return setting{}, false
	}
	for _, s := range settings() {
		if s.group == group && s.field.Name == bad.Name {
			return s, true
		}
	}
	return setting{}, false
}

// tidy trims values and list items, and computes settings that have their own rules.
func tidy(vars map[string]string, c *Config) {
	for _, s := range settings() {
		switch v := s.in(c); value := v.Interface().(type) {
		case []string:
			var list []string
			for _, item := range value {
				if item = strings.TrimSpace(item); item != "" {
					list = append(list, item)
				}
			}
			v.Set(reflect.ValueOf(list))
		case string, DSN: // not Secret: a blank may be part of it
			v.SetString(strings.TrimSpace(v.String()))
		}
	}
	if c.HTTP.Addr == "" {
		c.HTTP.Addr = ":8080"
		if c.Embedded() {
			c.HTTP.Addr = "127.0.0.1:8080"
		}
	}
	if ops, isSet := vars["SECKILL_OPS_ADDR"]; c.HTTP.OpsAddr == "off" || isSet && ops == "" {
		c.HTTP.OpsAddr = ""
	}
}

// checkRanges checks every setting against its oneof, or its min and max.
func checkRanges(c *Config, ps *problems) {
	for _, s := range settings() {
		v, wrong := s.in(c), ""
		switch of := s.tag("oneof"); {
		case of != "":
			if !slices.Contains(strings.Split(of, ","), v.String()) {
				wrong = fmt.Sprintf("is %q", v.String())
			}
		case s.tag("min") != "":
			if n := v.Int(); n < s.bound("min") || n > s.bound("max") {
				wrong = "is " + shown(v)
			}
		}
		if wrong != "" {
			ps.add(s.name(), wrong, s.allowed())
		}
	}
}

// bound returns the value of the tag min or max. A test parses all of these tags.
func (s setting) bound(tag string) int64 {
	text := s.tag(tag)
	if s.field.Type == reflect.TypeFor[time.Duration]() {
		d, _ := time.ParseDuration(text)
		return int64(d)
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// checkServer determines the instance name and the time zone.
func checkServer(c *Config, ps *problems) {
	const names = "letters, digits, '.', '-' and '_', at most 128"
	if c.Server.Instance == "" {
		host, err := os.Hostname()
		if err != nil {
			ps.add("SECKILL_INSTANCE", "is not set, and the host name cannot be found out: "+err.Error(), names)
			return
		}
		c.Server.Instance = host
	}
	if !isName(c.Server.Instance, 128) {
		ps.add("SECKILL_INSTANCE", fmt.Sprintf("is %q", c.Server.Instance), names)
	}
	loc, err := time.LoadLocation(c.Server.Timezone)
	// "Local" would make the meaning of a request depend on the machine that happens to handle it.
	if err != nil || c.Server.Timezone == "Local" {
		ps.add("SECKILL_TIMEZONE", fmt.Sprintf("is %q", c.Server.Timezone),
			"a name of the IANA database, such as UTC or Asia/Shanghai")
		return
	}
	c.Server.Location = loc
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// isName reports whether s can be used unquoted in a key or a log line.
func isName(s string, most int) bool { return len(s) <= most && plainName.MatchString(s) }
