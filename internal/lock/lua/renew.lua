-- Renews the lease of one hold, or only checks that it exists; and raises the token of the present stay to the one that
-- its owner uses on several servers. Safe to repeat. Follows token.lua and holds.lua.
--
-- KEYS[1]  the holds       holds.lua
-- KEYS[2]  the high water  string (token.lua)
-- ARGV[1]  lease, milliseconds; 0 leaves it unchanged
-- ARGV[2]  the hold
-- ARGV[3]  the token, text, if it should be raised
--
-- Returns  1  the request holds the lock, for a lease from now if one was given, with this token or a higher one
--          0  it does not; nothing was changed

local now = clock()
if not holding(KEYS[1], ARGV[2], now) then
  return 0
end
local token = token_of(KEYS[1])
if ARGV[3] and tonumber(token) < tonumber(ARGV[3]) then
  cover(KEYS[2], redis.call('GET', KEYS[2]), tonumber(ARGV[3]))
  redis.call('ZREM', KEYS[1], 'token ' .. token)
  token = ARGV[3]
  redis.call('ZADD', KEYS[1], 0, 'token ' .. token)
end
if ARGV[1] ~= '0' then
  take(KEYS[1], token, ARGV[2], now + ARGV[1])
  remove_expired(KEYS[1], now)
end
return 1
