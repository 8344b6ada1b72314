-- The tail of mutex_release.lua, for a client that did not hear its answer: it is told that it released, if it did, and
-- does not touch a successor. After mutex_token.lua.

if released(state, redis.call('GET', KEYS[2]), string.sub(ARGV[2], 2)) then
  return 1
end
return 0
