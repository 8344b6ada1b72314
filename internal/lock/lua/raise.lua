-- Raises the token of the present stay to the one that its owner has from several servers together. Repeating it is
-- harmless. After token.lua and holds.lua.
--
-- KEYS[1]  the holds       holds.lua
-- KEYS[2]  the high water  string (token.lua)
-- ARGV[1]  the token, text
-- ARGV[2]  the hold
--
-- Returns  1  the request holds the lock, with this token or a higher one
--          0  it does not; nothing was changed

if not holding(KEYS[1], ARGV[2], clock()) then
  return 0
end
local token = token_of(KEYS[1])
if tonumber(token) < tonumber(ARGV[1]) then
  cover(KEYS[2], redis.call('GET', KEYS[2]), tonumber(ARGV[1]))
  redis.call('ZREM', KEYS[1], 'token ' .. token)
  redis.call('ZADD', KEYS[1], 0, 'token ' .. ARGV[1])
end
return 1
