-- Renews the owner's lease, or only checks that the owner has the mutex; and raises its token to the one that it uses
-- on several servers. Safe to repeat. Follows token.lua.
--
-- KEYS[1]  the lock        string (mutex_acquire.lua)
-- KEYS[2]  the high water  string (token.lua)
-- ARGV[1]  lease, milliseconds; 0 leaves it unchanged
-- ARGV[2]  owner
-- ARGV[3]  the token, text, if it should be raised
--
-- Returns  1  the owner has the lock, for a lease from now if one was given, with this token or a higher one
--          0  it does not; nothing was changed

local state = redis.call('GET', KEYS[1])
if not state or string.sub(state, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then
  return 0
end
local token, rest = string.match(state, '^(%d+)(.*)$', #ARGV[2] + 2)
if ARGV[3] and tonumber(token) < tonumber(ARGV[3]) then
  cover(KEYS[2], redis.call('GET', KEYS[2]), tonumber(ARGV[3]))
  redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[3] .. rest, 'KEEPTTL')
end
if ARGV[1] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
