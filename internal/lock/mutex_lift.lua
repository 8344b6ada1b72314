-- Raises the token of the mutex's owner to the one that he has from several servers together. Repeating it is harmless.
-- After mutex_token.lua.
--
-- KEYS[1]  the lock     string (mutex_token.lua)
-- KEYS[2]  the counter  string (mutex_token.lua)
-- ARGV[1]  owner
-- ARGV[2]  the token, text
--
-- Returns  1  the lock is this owner's, with this token or a higher one
--          0  it is not this owner's; nothing was changed

local state = redis.call('GET', KEYS[1])
if not state or string.sub(state, 1, #ARGV[1] + 1) ~= ARGV[1] .. ' ' then
  return 0
end
local token, mark = string.match(state, '^(%d+)(.*)$', #ARGV[1] + 2)
local lifted = tonumber(ARGV[2])
if tonumber(token) < lifted then
  redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. ARGV[2] .. mark, 'KEEPTTL')
  if lifted > bound(tonumber(token)) then
    local since = string.match(redis.call('GET', KEYS[2]) or '', ' (%d+)$')
    note(KEYS[2], lifted, tonumber(since or token))
  end
end
return 1
