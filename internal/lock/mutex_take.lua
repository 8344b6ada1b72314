-- The head of mutex_acquire.lua: it takes a mutex that was released within the last 10 ms, which in a rush is almost
-- every time, with the fewest calls. What it does not take is left to the rest. The functions that the rest needs are
-- made only there, which costs as much as a call.
--
-- Tokens are compared as text: Redis's time in microseconds has sixteen digits until the year 2286.

local found = redis.call('MGET', KEYS[1], KEYS[2])
local state = found[1]
if state and not found[2] and string.byte(state) == 45 then -- "-"
  local now = redis.call('TIME')
  local token, last = now[1] .. string.sub('00000', #now[2]) .. now[2], string.sub(state, 2)
  if token > last and token > ARGV[3] and string.sub(token, 1, -5) == string.sub(last, 1, -5) then
    redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. token, 'PX', ARGV[2])
    return token
  end
end

