// Package config holds the settings of the service: environment variables named SECKILL_*, and nothing else.
//
// Authoritative is the struct [Config]: its tags give each variable's name, default, unit, allowed range and effect,
// and the table in docs/settings.md, the help text and the checks are all made from them, so that they cannot disagree.
//
// [Load] accepts a complete and consistent set of settings or none at all. What can go wrong, and what it does:
//
//	a value that cannot be read, or is out of range   problem: which variable, what is wrong, what is allowed
//	a name that is not a setting (a typing mistake)   problem: names the nearest setting
//	Redis without MySQL, or the other way round       problem: names the missing one, never a half-embedded service
//	a secret that can be guessed                      problem: the service does not start with it
//	several of these                                  all of them in one [InvalidError]
//
// An empty variable counts as one that is not set, because compose files and make pass on unset variables. The
// exceptions are SECKILL_REDIS_PASSWORD, where the two mean the same, and SECKILL_OPS_ADDR, where nothing means no
// listener. Secrets have types of their own ([Secret], [DSN]) that print masked however they are printed.
package config
