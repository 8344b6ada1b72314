-- Raises the token of the mutex's owner to the one that they have from several servers together. Repeating it is
-- harmless. After token.lua.
--
-- KEYS[1]  the lock        string (mutex_acquire.lua)
-- KEYS[2]  the high water  string (token.lua)
-- ARGV[1]  the token, text
-- ARGV[2]  owner
--
-- Returns  1  the lock is this owner's, with this token or a higher one
--          0  it is not this owner's; nothing was changed

local state = redis.call('GET', KEYS[1])
if not state or string.sub(state, 1, #ARGV[2]) ~= ARGV[2] then
  return 0
end
local token, rest = string.match(state, '^ (%d+)(.*)$', #ARGV[2] + 1)
if tonumber(token) < tonumber(ARGV[1]) then
  cover(KEYS[2], redis.call('GET', KEYS[2]), tonumber(ARGV[1]))
  redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. ARGV[1] .. rest, 'KEEPTTL')
end
return 1
