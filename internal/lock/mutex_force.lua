-- Frees the mutex whoever has it, and wakes those who wait for it. Its holder learns of it when he renews or looks
-- next. After mutex_token.lua.
--
-- KEYS[1]  the lock    string (mutex_token.lua)
-- KEYS[2]  the counter string (mutex_token.lua)
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  how long the last token stays with the lock, milliseconds
--
-- Returns  1  it was held
--          0  it was free; nothing was changed, nothing was published

local state = redis.call('GET', KEYS[1])
if not state or string.byte(state) == 45 then -- "-"
  return 0
end
local token = string.match(state, '^%S+ (%d+)')
if token then
  redis.call('SET', KEYS[1], '-' .. token, 'PX', ARGV[2])
  note(KEYS[2], tonumber(token), tonumber(token) + 1) -- its holder has not released
else
  redis.call('DEL', KEYS[1]) -- none of ours
end
redis.call('PUBLISH', ARGV[1], 'forced')
return 1
