package compose

import (
	"slices"
	"testing"
)

// flag returns the argument after the flag in a command, or "".
func flag(command []string, name string) string {
	i := slices.Index(command, name)
	if i < 0 || i+1 >= len(command) {
		return ""
	}
	return command[i+1]
}

func TestRedisKeepsWhatItAcknowledges(t *testing.T) {
	t.Parallel()
	redis := project(t).Services["redis"]
	for name, want := range map[string]string{
		"--appendonly":       "yes",
		"--appendfsync":      "always",
		"--maxmemory-policy": "noeviction",
		"--requirepass":      filled()["SECKILL_REDIS_PASSWORD"],
	} {
		if got := flag(redis.Command, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := flag(redis.Command, "--maxmemory"); got == "" {
		t.Error("no --maxmemory: a full Redis is killed instead of refusing orders")
	}
	if !slices.ContainsFunc(redis.Volumes, volumeAt("/data")) {
		t.Error("its data are not on a volume")
	}
}

func TestMySQLKeepsWhatItCommits(t *testing.T) {
	t.Parallel()
	mysql := project(t).Services["mysql"]
	for _, want := range []string{"--innodb-flush-log-at-trx-commit=1", "--sync-binlog=1"} {
		if !slices.Contains(mysql.Command, want) {
			t.Errorf("its command is %v, want %s in it", mysql.Command, want)
		}
	}
	if mysql.Image != "mysql:8.4" {
		t.Errorf("image is %s, want the long-term release 8.4", mysql.Image)
	}
	if !slices.ContainsFunc(mysql.Volumes, volumeAt("/var/lib/mysql")) {
		t.Error("its data are not on a volume")
	}
}

// Without the setting, the image creates a root user for every address, on a network that others share.
func TestMySQLHasNoRootFromAfar(t *testing.T) {
	t.Parallel()
	if got := variables(project(t).Services["mysql"])["MYSQL_ROOT_HOST"]; got != "localhost" {
		t.Errorf("MYSQL_ROOT_HOST is %q, want localhost", got)
	}
}
